read_liberty example_tt.lib
read_verilog updown_release.v.gz
link_design updown
read_sdc updown.sdc
read_spef updown_release.spef.gz
report_worst_slack
report_tns
exit
