// Package visibility parses and evaluates visibility expressions, on bytes.
//
//	expression = operand [ "&" operand { "&" operand } | "|" operand { "|" operand } ]
//	operand    = token | "(" expression ")"
//	token      = 1*( letter / digit / "_" / "-" / "." / ":" / "/" )
//	           | '"' 1*( any byte except '"' and '\' | '\"' | '\\' ) '"'
//
// "&" and "|" are not mixed on one level; letters and digits are ASCII; there is no white space outside quotes. What a
// quoted token means is the text without quotes and escapes, so that `"A"` and `A` are one token. The empty label is
// valid and visible to everybody.
//
// Validate says whether a label is well formed, Parse makes an Expr of it, and NewAuthorizations the set that it is
// evaluated against. Evaluator is what a scan uses: it remembers the labels it met last. AppendToken writes a token as
// it stands in a label.
//
// The package never normalizes a label: labels that mean the same but are written differently name different cells. It
// never decides what becomes of a label that does not parse.
package visibility
