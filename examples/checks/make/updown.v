// An 8-bit up/down counter that stops at a limit, with a registered comparator.
module updown (
    input  wire       clk,
    input  wire       reset,
    input  wire       enable,
    input  wire       up,
    input  wire [7:0] limit,
    output reg  [7:0] count,
    output reg        at_limit
);
  wire hit = (count == limit);

  always @(posedge clk)
    if (reset) count <= 8'd0;
    else if (enable && !hit) count <= up ? count + 8'd1 : count - 8'd1;

  always @(posedge clk) at_limit <= hit && !reset;
endmodule
