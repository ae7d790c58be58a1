read_liberty example_tt.lib
read_verilog updown_routed.v
link_design updown
read_sdc updown.sdc
read_spef -max updown.spef
read_spef -min updown_fast.spef
report_worst_slack
report_tns
exit
