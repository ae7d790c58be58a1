read_liberty example_tt.lib
read_verilog updown_routed.v
link_design updown
read_sdc updown_tight.sdc
read_spef updown.spef
group_path -name outputs -to [all_outputs]
report_worst_slack
report_tns
report_checks -path_delay max -group_count 60 -format end > setup_tight.rpt
report_checks -path_delay min -group_count 60 -format end > hold_tight.rpt
exit
