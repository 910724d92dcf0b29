// Package sim runs the whole real engine on one goroutine, in virtual time, in an order drawn from a seed: what happened
// once happens again for the same seed, to the byte.
//
// A test that goes wrong for one seed in a thousand is written in a few lines:
//
//	w := sim.New(sim.Options{Seed: seed, Schedule: sim.ScheduleFor(seed), Faults: []sim.Fault{
//		{Kind: sim.Panic, Actor: "flush", At: 3},
//	}})
//	defer w.End()
//	p := sim.NewPlayer(w, sim.PlayOptions{})
//	err := p.Begin()                                             // opens the store, makes the tables
//	if err == nil {
//		err = p.Play(sim.NewHistory(seed, sim.HistoryOptions{})) // holds every answer against the model
//	}
//
// or, for one history in one world from opening to a clean close, r := sim.Run(seed, sim.RunOptions{}); r.Err and
// r.Digest are what came of it, and Shrink looks for a smaller one that fails as well.
//
// In the order one meets them:
//
//   - World: one store, its files and its time. Open, CloseStore, Crash and Open again on what a crash leaves; Sleep;
//     Settle. Nothing happens in it but while somebody waits for something.
//   - Client: a user beside others, started with World.Go. Clients are coroutines: one of them, or the engine, runs at a
//     time, and whoever waits gives way. World.Run runs them to their end.
//   - Schedule: who runs next. Fault: a kind of trouble, with a random stream of its own. Clock: virtual time.
//   - Op, History, NewHistory: what is done, as plain data drawn from a seed. Value, CheckValue: what is written, so that
//     what was never written shows.
//   - Player: does a history's operations one after the other and keeps an oracle.Model of what may be there: an
//     operation that failed, was cancelled or did not come back before a crash may have happened or not. Check looks at
//     everything; Recover is a crash, an opening and a check.
//   - Moment: what may be there at one moment, for holding any number of images of that moment against it.
//   - Run, Shrink: all of it in one call.
//   - CrashEverywhere: a run that is crashed at every call of the file system, each time with several images of what may be
//     left; Point, FiveImages, CrashReport. Broken and its Harm say which promise was not kept, and AfterCrash is played to
//     see that a store works again.
//   - World.SyncChecks: in every world a watch lies over the files, for the order of syncs and removals.
//
// A crash is an image of the files and a new engine. The image is the caller's to choose: Image takes one of a file system
// in memory, between two steps. For crashes within a step, a layer takes the images, and the run goes on:
//
//	mem := vfs.Mem()
//	var p *sim.Player
//	w := sim.New(sim.Options{FS: mem, Layers: func(fs vfs.FS) vfs.FS {
//		return vfs.Trace(fs, vfs.TraceOptions{Before: func(e vfs.Event) {
//			points = append(points, point{p.Moment(), mem.Image(options)})
//		}})
//	}})
//	p = sim.NewPlayer(w, sim.PlayOptions{})
//	… // and then, for each of the points:
//	err := point.moment.Verify(seed, point.image, false)
//
// World.Kill stops the engine from within a layer; Player.Recover goes on from there.
//
// Every event, a message delivered, a call of the file system with a sum of its bytes, a fault, goes into a log that is
// digested. Neither addresses nor the machine's time nor the order of a map may reach it, and so none may decide
// anything in the engine: who finds a difference between two runs of one seed looks at the first line that differs of
// their traces (Options.Trace).
//
// The package starts no goroutine but its clients' coroutines, and never sleeps. It does not look for races: one goroutine
// has none. What only real threads do is tested where they are.
package sim
