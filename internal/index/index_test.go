package index_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"culprit/internal/index"
	"culprit/internal/session"
)

func open(t *testing.T) (*index.Index, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	return index.Open(client), server
}

func TestASessionIsFoundByEachOfItsKeysUntilAnotherTakesThem(t *testing.T) {
	t.Parallel()
	x, server := open(t)
	first := index.Entry{Session: "s-1", Job: "j-1", Key: "o/r@abc/ci", PR: 5, Seen: []string{"test"}}
	second := index.Entry{Session: "s-2", Job: "j-2", Key: "o/r#5", Issue: 5, PR: 5}
	if err := x.Put(t.Context(), first, "o/r#5", ""); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"o/r@abc/ci", "o/r#5"} {
		if e, ok, err := x.Latest(t.Context(), key); err != nil || !ok || e.Session != "s-1" || len(e.Seen) != 1 {
			t.Errorf("%s: %+v, %v, %v", key, e, ok, err)
		}
	}
	if err := x.Put(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if e, _, _ := x.Latest(t.Context(), "o/r#5"); e.Session != "s-2" {
		t.Errorf("the latest is %+v", e)
	}
	if e, ok, _ := x.Session(t.Context(), "s-1"); !ok || e.Job != "j-1" {
		t.Errorf("the first is %+v, %v", e, ok)
	}
	for _, key := range []string{"", "o/r#6"} {
		if _, ok, err := x.Latest(t.Context(), key); ok || err != nil {
			t.Errorf("%q leads somewhere: %v", key, err)
		}
	}
	server.FastForward(index.Keep + 1)
	if _, ok, err := x.Session(t.Context(), "s-1"); ok || err != nil {
		t.Errorf("it is kept for ever: %v", err)
	}
}

func TestWhoFindsAFailureFirstOwnsIt(t *testing.T) {
	t.Parallel()
	x, _ := open(t)
	for _, c := range []struct {
		failures    []string
		id, instead string
		owner, why  string
	}{
		{[]string{"f1", "f2"}, "a", "", "a", "nobody had them"},
		{[]string{"f1", "f2"}, "a", "", "a", "asking again changes nothing"},
		{[]string{"f2"}, "b", "", "a", "part of what the first one has"},
		{[]string{"f2", "f3"}, "c", "", "c", "one more failure is another incident"},
		{[]string{"f3"}, "d", "", "c", "which is the other one's now"},
		{[]string{"f2", "f3"}, "d", "", "d", "no one session has both"},
		{[]string{"f2"}, "b", "a", "b", "the first one gave up"},
		{[]string{"f2"}, "d", "a", "b", "somebody took it over before"},
		{nil, "e", "", "e", "nothing is nobody's"},
	} {
		if owner, err := x.Own(t.Context(), c.failures, c.id, c.instead); err != nil || owner != c.owner {
			t.Errorf("%s asks for %v: %q, %v; want %q: %s", c.id, c.failures, owner, err, c.owner, c.why)
		}
	}
}

func TestOfManySessionsAtATimeOneIsFirst(t *testing.T) {
	t.Parallel()
	x, _ := open(t)
	owners := make([]string, 20)
	var wg sync.WaitGroup
	for i := range owners {
		wg.Go(func() { owners[i], _ = x.Own(t.Context(), []string{"f1", "f2"}, fmt.Sprint("s-", i), "") })
	}
	wg.Wait()
	for _, o := range owners {
		if o != owners[0] || o == "" {
			t.Fatalf("owners are %v", owners)
		}
	}
}

func TestSightingsAreListedOnceEach(t *testing.T) {
	t.Parallel()
	x, _ := open(t)
	for _, s := range []session.Sighting{{Session: "b", PR: 7}, {Session: "a", Ref: "topic"}, {Session: "b", PR: 7, URL: "u"}, {Session: "c"}} {
		if err := x.See(t.Context(), "owner", s); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Unsee(t.Context(), "owner", "c"); err != nil {
		t.Fatal(err)
	}
	all, err := x.Sightings(t.Context(), "owner")
	if err != nil || len(all) != 2 || all[0].Session != "a" || all[1].URL != "u" {
		t.Errorf("sightings are %+v, %v", all, err)
	}
}
