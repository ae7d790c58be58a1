read_liberty example_tt.lib
read_verilog updown_synth.v
link_design updown
read_sdc updown.sdc
check_setup -verbose
report_checks -path_delay max
report_worst_slack
report_tns
exit
