package edit

import (
	"go/ast"
	"go/token"
	"strings"
)

// This file knows the operators: their partners, and the text of their operands.

// Associative maps the assignments whose terms may be added up in any order to their operators.
var Associative = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.XOR_ASSIGN: token.XOR, token.OR_ASSIGN: token.OR, token.MUL_ASSIGN: token.MUL,
}

// Opposite maps each comparison to its opposite.
var Opposite = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}

// Operand returns the text of e as it may stand beside an operator: in parentheses if e itself
// binds less tightly.
func Operand(e ast.Expr, text string, op token.Token) string {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() < op.Precedence() {
		return "(" + text + ")"
	}
	return text
}

// RightOperand is Operand for the right side of an operator, where another one of the same
// precedence needs parentheses, too, and so does a sign, since a-- is another operator.
func RightOperand(e ast.Expr, text string, op token.Token) string {
	b, ok := e.(*ast.BinaryExpr)
	if ok && b.Op.Precedence() <= op.Precedence() || strings.HasPrefix(text, op.String()) {
		return "(" + text + ")"
	}
	return text
}

// JoinTests breaks a long chain after every fourth test.
func JoinTests(tests []string, op string) string {
	var out strings.Builder
	for i, t := range tests {
		switch {
		case i == 0:
		case i%4 == 0 && len(tests) > 5:
			out.WriteString(" " + op + "\n")
		default:
			out.WriteString(" " + op + " ")
		}
		out.WriteString(t)
	}
	return out.String()
}
