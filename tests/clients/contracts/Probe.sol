// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

contract Child {
    uint256 public number;

    constructor(uint256 number_) payable {
        number = number_;
    }

    function end(address payable to) external {
        selfdestruct(to);
    }
}

/// Does one thing of each kind that a virtual machine can do, so that two of them can be compared.
contract Probe {
    mapping(uint256 => uint256) public slots;
    uint256[] public list;
    address public lastChild;
    bytes32 public digest;

    event Zero();
    event Noted(uint256 indexed key, address indexed who, bytes32 indexed digest, bytes data);

    error Refused(uint256 code, string why);

    receive() external payable {
        slots[0] += msg.value;
    }

    function store(uint256 key, uint256 value) external {
        slots[key] = value;
    }

    function storeMany(uint256 from, uint256 count, uint256 value) external {
        for (uint256 i = 0; i < count; i++) slots[from + i] = value;
    }

    function push(uint256 value) external {
        list.push(value);
    }

    function note(uint256 key, bytes calldata data) external {
        emit Noted(key, msg.sender, keccak256(data), data);
        emit Zero();
    }

    function refuse(uint256 code, string calldata why) external pure {
        if (code == 0) revert(why);
        if (code == 1) revert Refused(code, why);
        if (code == 2) assert(false);
        if (code == 3) {
            uint256[] memory none;
            none[code] = 1;
        }
        if (code == 4) {
            assembly {
                invalid()
            }
        }
        revert();
    }

    /// Stores, then refuses: nothing of it may be left.
    function storeAndRefuse(uint256 key, uint256 value) external {
        slots[key] = value;
        emit Zero();
        revert("stored in vain");
    }

    function burn(uint256 rounds) external {
        bytes32 d = digest;
        for (uint256 i = 0; i < rounds; i++) d = keccak256(abi.encode(d, i));
        digest = d;
    }

    function endless() external {
        while (true) slots[gasleft()] = 1;
    }

    /// Calls itself to this depth; the innermost refuses if asked to, and its caller goes on.
    function nest(uint256 depth, bool refuseInside) external returns (uint256) {
        slots[depth + 1000] += 1;
        if (depth == 0) {
            require(!refuseInside, "inside");
            return 0;
        }
        try this.nest(depth - 1, refuseInside) returns (uint256 below) {
            return below + 1;
        } catch (bytes memory why) {
            digest = keccak256(why);
            return 0;
        }
    }

    function callWithGas(address to, uint256 gasGiven, bytes calldata data) external payable {
        (bool ok, bytes memory answer) = to.call{gas: gasGiven, value: msg.value}(data);
        digest = keccak256(abi.encode(ok, answer));
    }

    function delegate(address to, bytes calldata data) external {
        (bool ok, bytes memory answer) = to.delegatecall(data);
        digest = keccak256(abi.encode(ok, answer));
    }

    function look(address to, bytes calldata data) external {
        (bool ok, bytes memory answer) = to.staticcall(data);
        digest = keccak256(abi.encode(ok, answer));
    }

    function create(uint256 number) external payable {
        lastChild = address(new Child{value: msg.value}(number));
    }

    function create2(uint256 number, bytes32 salt) external payable {
        lastChild = address(new Child{value: msg.value, salt: salt}(number));
    }

    /// Makes a child and ends it in the same transaction.
    function createAndEnd(uint256 number) external payable {
        Child child = new Child{value: msg.value}(number);
        child.end(payable(msg.sender));
        lastChild = address(child);
    }

    function endChild() external {
        Child(lastChild).end(payable(msg.sender));
    }

    function transient_(uint256 value) external {
        uint256 seen;
        assembly {
            tstore(7, value)
            seen := add(tload(7), tload(8))
        }
        slots[7] = seen;
    }

    /// What it can see that is the same wherever it runs.
    function surroundings() external payable {
        digest = keccak256(
            abi.encode(
                block.number,
                block.basefee,
                block.coinbase,
                block.gaslimit,
                block.chainid,
                tx.origin,
                tx.gasprice,
                msg.value,
                address(this).balance,
                msg.sender.balance,
                msg.sender.codehash
            )
        );
    }
}
