package writer

import "sync"

// sparesMax is how many arrays are kept that nobody needs: as many as there are sets on their way at most times.
const sparesMax = 64

// spares are empty arrays for those to come.
type spares[T any] struct {
	mu  sync.Mutex
	all [][]T
}

func (s *spares[T]) get() (items []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n > 0 {
		items, s.all[n-1] = s.all[n-1], nil
		s.all = s.all[:n-1]
	}
	return items
}

func (s *spares[T]) give(items []T, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < most {
		s.all = append(s.all, items)
	}
}
