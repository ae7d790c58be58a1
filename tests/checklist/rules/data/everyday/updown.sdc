create_clock -name core -period 1.2 [get_ports clk]
set_input_delay 0.1 -clock core [get_ports {reset enable up limit[*]}]
set_output_delay 0.1 -clock core [all_outputs]
