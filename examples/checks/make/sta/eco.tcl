read_liberty example_tt.lib
read_verilog updown_eco.v
link_design updown
read_sdc updown.sdc
read_spef updown.spef
report_worst_slack
report_tns
exit
