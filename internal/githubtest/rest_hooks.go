package githubtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

var hookRoutes = []*route{
	{method: "GET", path: "/app/hook/config", access: accessApp, handle: getHookConfig},
	{method: "PATCH", path: "/app/hook/config", access: accessApp, handle: patchHookConfig},
	{method: "GET", path: "/app/hook/deliveries", access: accessApp, handle: listDeliveries},
	{method: "GET", path: "/app/hook/deliveries/{delivery_id}", access: accessApp, handle: getDelivery},
	{method: "POST", path: "/app/hook/deliveries/{delivery_id}/attempts", access: accessApp, handle: attemptDelivery},
}

func getHookConfig(c *call) reply {
	config := obj{"content_type": "json", "insecure_ssl": "0", "secret": "********"}
	if c.who.app.WebhookURL != "" {
		config["url"] = c.who.app.WebhookURL
	}
	return ok(config)
}

func patchHookConfig(c *call) reply {
	var req struct{ URL, Secret *string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if req.URL != nil {
		c.who.app.WebhookURL = *req.URL
	}
	if req.Secret != nil {
		c.who.app.WebhookSecret = *req.Secret
	}
	return getHookConfig(c)
}

func deliveryJSON(d *delivery) obj {
	id := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return obj{
		"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.Delivered), "redelivery": d.Redelivery, "duration": d.Duration.Seconds(),
		"status": d.Status, "status_code": d.Code, "event": d.Event, "action": orNull(d.Action), "installation_id": id(d.installationID),
		"repository_id": id(d.repositoryID), "throttled_at": nil,
	}
}

// keepDeliveries is how long GitHub shows deliveries and sends them again.
const keepDeliveries = 3 * 24 * time.Hour

// deliveryStatus is what the parameter "status" selects, as codes from and to.
var deliveryStatus = map[string][2]int{"": {0, 999}, "success": {200, 399}, "failure": {400, 599}}

// listDeliveries lists newest first; pages are named by a cursor, here the ID
// of the first delivery of the page.
func listDeliveries(c *call) reply {
	perPage, _ := c.paging()
	codes, known := deliveryStatus[c.query("status")]
	if !known {
		return fail(http.StatusUnprocessableEntity, "Invalid status")
	}
	list := slices.DeleteFunc(slices.Clone(c.who.app.deliveries), func(d *delivery) bool {
		return !d.kept(c.s.now()) || d.Code < codes[0] || d.Code > codes[1]
	})
	slices.Reverse(list)
	if raw := c.query("cursor"); raw != "" {
		id, err := strconv.ParseInt(strings.TrimPrefix(raw, "v1_"), 10, 64)
		if err != nil {
			return fail(http.StatusUnprocessableEntity, "Invalid cursor")
		}
		list = slices.DeleteFunc(list, func(d *delivery) bool { return d.ID > id })
	}
	if len(list) > perPage {
		q := c.r.URL.Query()
		q.Set("cursor", "v1_"+strconv.FormatInt(list[perPage].ID, 10))
		c.header.Set("Link", "<"+c.self(q)+`>; rel="next"`)
		list = list[:perPage]
	}
	out := []obj{}
	for _, d := range list {
		out = append(out, deliveryJSON(d))
	}
	return ok(out)
}

func getDelivery(c *call) reply {
	d := c.who.app.delivery(c.id("delivery_id"))
	if d == nil || !d.kept(c.s.now()) {
		return notFound()
	}
	flat := func(h http.Header) obj {
		out := obj{}
		for k, v := range h {
			out[strings.Replace(k, "X-Github-", "X-GitHub-", 1)] = strings.Join(v, ", ")
		}
		return out
	}
	v := deliveryJSON(d)
	v["url"] = d.url
	v["request"] = obj{"headers": flat(d.request), "payload": json.RawMessage(d.Payload)}
	v["response"] = obj{"headers": flat(d.response), "payload": d.answer}
	return ok(v)
}

func attemptDelivery(c *call) reply {
	d := c.who.app.delivery(c.id("delivery_id"))
	if d == nil || !d.kept(c.s.now()) {
		return notFound()
	}
	c.s.redeliver(d)
	return reply{status: http.StatusAccepted, body: obj{}}
}
