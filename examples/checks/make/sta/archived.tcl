read_liberty example_tt.lib
read_verilog updown_routed.v
link_design updown
read_sdc updown.sdc
read_spef updown_archived.spef
report_worst_slack
report_tns
exit
