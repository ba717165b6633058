-- DDP over SCTP for Wireshark and tshark, which know DDP over TCP alone:
--
--	tshark -X lua_script:ddp.lua -d udp.port==PORT,sctp -r FILE
--
-- It shows what SCTP carries for DDP by RFC 5043 (payload protocol identifiers 16 and 17), with the
-- enhanced session control of RFC 6581 section 7. It gives DDP segments to Wireshark's own
-- dissector of DDP and RDMAP. With -o ddp_sctp.draft:TRUE it also does so for
-- draft-stewart-rddp-sctp-01, whose identifiers 1 and 2 are otherwise those of IUA and M2UA.

local proto = Proto("ddp_sctp", "DDP over SCTP")

-- RFC 5043 section 5.2, RFC 6581 section 7.
local functions = {
	[1] = "DDP Stream Session Initiate",
	[2] = "DDP Stream Session Accept",
	[3] = "DDP Stream Session Reject",
	[4] = "DDP Stream Session Terminate",
	[5] = "Enhanced DDP Stream Session Initiate",
	[6] = "Enhanced DDP Stream Session Accept",
	[7] = "Enhanced DDP Stream Session Reject",
}
local terminate, first_enhanced, last_enhanced = 4, 5, 7

local draft_functions = { [1] = "DDP Stream Reset" } -- draft section 2.2

local fields = {
	ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP-SSN"),
	code = ProtoField.uint16("ddp_sctp.function", "Function Code", base.DEC, functions),
	peer_to_peer = ProtoField.bool("ddp_sctp.a", "A, peer-to-peer", 32, nil, 0x80000000),
	send = ProtoField.bool("ddp_sctp.b", "B, Send as RTR", 32, nil, 0x40000000),
	ird = ProtoField.uint32("ddp_sctp.ird", "IRD", base.DEC, nil, 0x3fff0000),
	write = ProtoField.bool("ddp_sctp.c", "C, RDMA Write as RTR", 32, nil, 0x00008000),
	read = ProtoField.bool("ddp_sctp.d", "D, RDMA Read as RTR", 32, nil, 0x00004000),
	ord = ProtoField.uint32("ddp_sctp.ord", "ORD", base.DEC, nil, 0x00003fff),
	private = ProtoField.bytes("ddp_sctp.private_data", "Private Data"),
	draft_code = ProtoField.uint32("ddp_sctp.draft_function", "Function Code", base.DEC,
		draft_functions),
}
proto.fields = fields

local malformed = ProtoExpert.new("ddp_sctp.malformed", "Malformed DDP over SCTP",
	expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { malformed }

local rdmap = Dissector.get("iwarp_ddp_rdmap")
local max_private_data = 512 -- RFC 5043 section 5.2; with the enhanced data, RFC 6581 section 7

-- segment shows the payload of identifier 16: a DDP-SSN, and a DDP segment.
local segment = Proto("ddp_sctp_segment", "DDP Segment over SCTP")
function segment.dissector(buffer, info, root)
	local tree = root:add(proto, buffer(0, math.min(2, buffer:len())))
	if buffer:len() < 2 then
		tree:add_proto_expert_info(malformed, "Cut off in the DDP-SSN")
		return
	end
	tree:add(fields.ssn, buffer(0, 2))
	tree:append_text(", segment, DDP-SSN " .. buffer(0, 2):uint())
	if buffer:len() == 2 then
		tree:add_proto_expert_info(malformed, "There is no DDP segment")
		return
	end
	rdmap:call(buffer(2):tvb(), info, root)
end

-- control shows the payload of identifier 17: a DDP-SSN, a function code, and private data.
local control = Proto("ddp_sctp_control", "DDP Stream Session Control")
function control.dissector(buffer, info, root)
	local tree = root:add(proto, buffer())
	if buffer:len() < 4 then
		tree:add_proto_expert_info(malformed, "Cut off in the header")
		return
	end
	local code = buffer(2, 2):uint()
	local name = functions[code] or "unknown function " .. code
	tree:add(fields.ssn, buffer(0, 2))
	tree:add(fields.code, buffer(2, 2))
	tree:append_text(", " .. name .. ", DDP-SSN " .. buffer(0, 2):uint())
	info.cols.info:append(" " .. name)

	local offset = 4
	if code >= first_enhanced and code <= last_enhanced then
		if buffer:len() < 8 then
			tree:add_proto_expert_info(malformed, "Cut off in the enhanced data")
			return
		end
		for _, name in ipairs({ "peer_to_peer", "send", "ird", "write", "read", "ord" }) do
			tree:add(fields[name], buffer(4, 4))
		end
		offset = 8
	end
	if buffer:len() > offset then
		tree:add(fields.private, buffer(offset))
		if code == terminate then
			tree:add_proto_expert_info(malformed, "Terminate has private data")
		end
	end
	if buffer:len() - 4 > max_private_data then
		tree:add_proto_expert_info(malformed, "Private data is too long")
	end
end

-- show_draft_control shows a control message of the draft.
local function show_draft_control(buffer, info, root)
	local tree = root:add(proto, buffer())
	if buffer:len() < 4 then
		tree:add_proto_expert_info(malformed, "Cut off in the function code")
		return
	end
	local code = buffer(0, 4):uint()
	local name = draft_functions[code] or "unknown function " .. code
	tree:add(fields.draft_code, buffer(0, 4))
	tree:append_text(", " .. name)
	info.cols.info:append(" " .. name)
end

-- draft_control shows the payload of the draft's identifier 2.
local draft_control = Proto("ddp_sctp_draft_control", "DDP Stream Control, draft")
draft_control.dissector = show_draft_control

-- draft_message shows the payload of the draft's identifier 1. What has four bytes is no segment:
-- the draft also gives DDP Stream Reset this identifier.
local draft_message = Proto("ddp_sctp_draft_message", "DDP Message over SCTP, draft")
function draft_message.dissector(buffer, info, root)
	if buffer:len() == 4 then
		show_draft_control(buffer, info, root)
	else
		rdmap:call(buffer, info, root)
	end
end

local identifiers = DissectorTable.get("sctp.ppi")
identifiers:add(16, segment)
identifiers:add(17, control)

-- The preference is known only after this file has been read.
proto.prefs.draft = Pref.bool("Payload protocol identifiers 1 and 2 are DDP", false,
	"draft-stewart-rddp-sctp-01, in place of IUA and M2UA")
function proto.prefs_changed()
	local change = proto.prefs.draft and identifiers.add or identifiers.remove
	change(identifiers, 1, draft_message)
	change(identifiers, 2, draft_control)
end
