read_liberty example_tt.lib
read_verilog updown_routed.v
link_design updown
read_sdc updown.sdc
read_spef updown.spef
puts "next: read_spef updown_v2.spef once the top level is routed"
check_setup -verbose
report_checks -path_delay max
report_worst_slack
report_tns
report_checks -path_delay max -group_count 60 -format end > setup_signoff.rpt
report_checks -path_delay min -group_count 60 -format end > hold_signoff.rpt
exit
