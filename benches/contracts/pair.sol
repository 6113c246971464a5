// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.30;

import "./token.sol";

/// A market of two tokens with a constant product and a fee of 0.3 %, as in the second version of
/// the well-known exchange: reserves in one slot, cumulative prices, a lock, checks of the product.
contract Pair {
    Token public token0;
    Token public token1;
    uint112 private reserve0;
    uint112 private reserve1;
    uint32 private lastUpdate;
    uint256 public price0Cumulative;
    uint256 public price1Cumulative;
    uint256 private unlocked = 1;

    event Swap(address indexed sender, uint256 in0, uint256 in1, uint256 out0, uint256 out1);
    event Sync(uint112 reserve0, uint112 reserve1);

    constructor() {
        token0 = new Token();
        token1 = new Token();
        token0.mint(address(this), 1e24);
        token1.mint(address(this), 1e24);
        update(1e24, 1e24);
    }

    modifier lock() {
        require(unlocked == 1, "locked");
        unlocked = 0;
        _;
        unlocked = 1;
    }

    /// Gives tokens to whoever wants to trade, and lets the pair take them.
    function fund(address trader, uint256 value) external {
        token0.mint(trader, value);
        token1.mint(trader, value);
    }

    /// Sells an amount of one token for the other. The caller must have approved it.
    function swap(bool zeroForOne, uint256 amountIn) external lock returns (uint256 amountOut) {
        (uint256 r0, uint256 r1) = (reserve0, reserve1);
        (uint256 rIn, uint256 rOut) = zeroForOne ? (r0, r1) : (r1, r0);
        (Token tIn, Token tOut) = zeroForOne ? (token0, token1) : (token1, token0);
        uint256 withFee = amountIn * 997;
        amountOut = (withFee * rOut) / (rIn * 1000 + withFee);
        require(amountOut > 0 && amountOut < rOut, "amount");
        require(tIn.transferFrom(msg.sender, address(this), amountIn), "in");
        require(tOut.transfer(msg.sender, amountOut), "out");
        uint256 b0 = token0.balanceOf(address(this));
        uint256 b1 = token1.balanceOf(address(this));
        uint256 in0 = zeroForOne ? amountIn : 0;
        uint256 in1 = zeroForOne ? 0 : amountIn;
        require((b0 * 1000 - in0 * 3) * (b1 * 1000 - in1 * 3) >= r0 * r1 * 1e6, "product");
        update(b0, b1);
        emit Swap(msg.sender, in0, in1, zeroForOne ? 0 : amountOut, zeroForOne ? amountOut : 0);
    }

    function update(uint256 b0, uint256 b1) private {
        require(b0 <= type(uint112).max && b1 <= type(uint112).max, "overflow");
        uint32 time = uint32(block.timestamp);
        unchecked {
            uint32 elapsed = time - lastUpdate;
            if (elapsed > 0 && reserve0 != 0 && reserve1 != 0) {
                price0Cumulative += (uint256(reserve1) << 112) / reserve0 * elapsed;
                price1Cumulative += (uint256(reserve0) << 112) / reserve1 * elapsed;
            }
        }
        (reserve0, reserve1, lastUpdate) = (uint112(b0), uint112(b1), time);
        emit Sync(reserve0, reserve1);
    }
}
