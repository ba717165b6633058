package krb5

// Key usages (RFC 4120 section 7.5.1, RFC 4121 section 2).
const (
	usagePAEncTimestamp     = 1
	usageTicket             = 2
	usageASRepEncPart       = 3
	usageTGSReqBodyChecksum = 6
	usageTGSReqAuth         = 7
	usageTGSRepEncPart      = 8
	usageAPReqAuth          = 11
	usageAPRepEncPart       = 12
	usageAcceptorSeal       = 22
	usageAcceptorSign       = 23
	usageInitiatorSeal      = 24
	usageInitiatorSign      = 25
)
