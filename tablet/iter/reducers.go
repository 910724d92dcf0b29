package iter

import "math"

func init() {
	Register("SummingCombiner", func() Iterator {
		return NewCombiner(&numberReducer{what: "sums 64-bit numbers, stopping at the limits", add: addSaturating})
	})
	Register("MaxCombiner", func() Iterator {
		return NewCombiner(&numberReducer{what: "keeps the largest of 64-bit numbers", none: math.MinInt64, add: maxOf})
	})
	Register("MinCombiner", func() Iterator {
		return NewCombiner(&numberReducer{what: "keeps the smallest of 64-bit numbers", none: math.MaxInt64, add: minOf})
	})
}

// numberReducer makes one number of many. It is SummingCombiner, MaxCombiner and MinCombiner.
//
// Option: type, STRING, FIXEDLEN or VARLEN. Unlike in Accumulo, bytes behind a number are an error, not passed over.
// Source: Accumulo LongCombiner.
type numberReducer struct {
	what string
	none int64 // the number made of nothing
	add  func(a, b int64) int64

	numbers numberType
	so      int64
}

const typeOption = "type"

func (n *numberReducer) Describe() Description {
	return Description{
		What:    n.what,
		Options: []Option{{Name: typeOption, Value: "STRING|FIXEDLEN|VARLEN", Required: true, What: "decimal text, 8 bytes big-endian, or Hadoop's variable-length integers"}},
	}
}

func (n *numberReducer) Init(opts map[string]string, _ Env) (err error) {
	n.numbers, err = parseNumberType(opts[typeOption])
	return err
}

func (n *numberReducer) Reset() { n.so = n.none }

func (n *numberReducer) Add(value []byte) error {
	v, err := n.numbers.decode(value)
	if err == nil {
		n.so = n.add(n.so, v)
	}
	return err
}

func (n *numberReducer) Append(dst []byte) []byte { return n.numbers.encode(dst, n.so) }

func maxOf(a, b int64) int64 { return max(a, b) }
func minOf(a, b int64) int64 { return min(a, b) }

func addSaturating(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}
