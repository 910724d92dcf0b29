package actors

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"millrace/tablet"
)

// parseBytes reads a size as Accumulo writes it: a number and B, K, M or G, powers of 1024, or bare bytes. With a base
// above 0 a percentage of it is allowed.
func parseBytes(text string, base int64) (int64, error) {
	digits, factor := text, int64(1)
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'B', 'b':
			digits = text[:n-1]
		case 'K', 'k':
			digits, factor = text[:n-1], 1<<10
		case 'M', 'm':
			digits, factor = text[:n-1], 1<<20
		case 'G', 'g':
			digits, factor = text[:n-1], 1<<30
		case '%':
			return parsePercent(text[:n-1], base)
		}
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size such as 100K, 32M or 1G: %w", text, tablet.ErrUsage)
	}
	return v * factor, nil
}

func parsePercent(text string, base int64) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case base <= 0:
		return 0, fmt.Errorf("a percentage is not possible here: %w", tablet.ErrUsage)
	case err != nil || !(v > 0) || v > 100:
		return 0, fmt.Errorf("%q is not a percentage above 0 and up to 100: %w", text+"%", tablet.ErrUsage)
	}
	return int64(v / 100 * float64(base)), nil
}

// parseDuration reads a time as Accumulo writes it: a whole number and ms, s, m, h or d; bare seconds.
func parseDuration(text string) (time.Duration, error) {
	units := []struct {
		suffix string
		unit   time.Duration
	}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"", time.Second}}
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || v < 0 || v > int64(math.MaxInt64/u.unit) {
			break
		}
		return time.Duration(v) * u.unit, nil
	}
	return 0, fmt.Errorf("%q is not a time such as 250ms, 30s or 5m: %w", text, tablet.ErrUsage)
}
