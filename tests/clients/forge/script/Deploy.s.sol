// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

import {Token} from "../src/Token.sol";

/// What forge offers to scripts, as far as this one needs it.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

/// Deploys a token and sends some of it: three transactions in a row.
contract Deploy {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    bool public constant IS_SCRIPT = true;

    function run() external {
        vm.startBroadcast();
        Token token = new Token(1000 ether);
        token.transfer(address(0xB0B), 5);
        token.approve(address(0xB0B), 7);
        vm.stopBroadcast();
    }
}
