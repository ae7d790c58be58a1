# Constraints of the lamp.
create_clock -name core_clk -period 2.0 [get_ports clk]
create_generated_clock -name slow_clk -source [get_ports clk] \
    -divide_by 4 [get_pins div_reg/Q]
create_clock -name io_clk -period 8.0
set_input_delay 0.4 -clock io_clk [get_ports {rst walk hold_time[*]}]
set_output_delay 0.4 -clock io_clk [all_outputs]
