// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// Tells and keeps what a transaction sees of the world outside its shard.
contract Surroundings {
    struct Seen {
        uint256 number;
        uint256 timestamp;
        uint256 baseFee;
        address coinbase;
        uint256 prevrandao;
        uint256 chainId;
        bytes32 parentHash;
    }

    event Looked(
        uint256 number,
        uint256 timestamp,
        uint256 baseFee,
        address coinbase,
        uint256 prevrandao,
        uint256 chainId,
        bytes32 parentHash
    );

    function look() public view returns (Seen memory) {
        return Seen(
            block.number,
            block.timestamp,
            block.basefee,
            block.coinbase,
            block.prevrandao,
            block.chainid,
            // A chain that has just begun has no block before its newest.
            block.number == 0 ? bytes32(0) : blockhash(block.number - 1)
        );
    }

    function record() external {
        Seen memory seen = look();
        emit Looked(
            seen.number,
            seen.timestamp,
            seen.baseFee,
            seen.coinbase,
            seen.prevrandao,
            seen.chainId,
            seen.parentHash
        );
    }
}
