import { describe, expect, test } from "vitest";
import { EventCorrelator, type Correlation, type Occurrence } from "./event-correlator.ts";

const pod = { apiVersion: "v1", kind: "Pod", namespace: "apps", name: "web", uid: "u1" };
const minuteMs = 60_000;

/** Correlates a warning of the pod, unless told otherwise. */
function told(correlator: EventCorrelator, message: string, nowMs = 0, change: Partial<Occurrence> = {}): Correlation {
  return correlator.correlate({ object: pod, type: "Warning", reason: "Unhealthy", message, ...change }, nowMs);
}

/** Reports the messages `0` to `count - 1`. */
function tell(correlator: EventCorrelator, count: number, nowMs = 0, change: Partial<Occurrence> = {}): Correlation[] {
  return Array.from({ length: count }, (_, index) => told(correlator, `${index}`, nowMs, change));
}

describe("events that differ in their message", () => {
  test("are series of their own, until there are ten within ten minutes", () => {
    const correlations = tell(new EventCorrelator(), 12);

    expect(correlations.map(({ message }) => message)).toEqual([
      ...["0", "1", "2", "3", "4", "5", "6", "7", "8"],
      ...["9", "10", "11"].map((message) => `(combined from similar events): ${message}`),
    ]);
    expect(correlations.map(({ isCombined }) => isCombined)).toEqual([...Array<boolean>(9).fill(false), true, true, true]);
    expect(new Set(correlations.map(({ series }) => series)).size).toBe(10);
    expect(correlations[11]?.series).toBe(correlations[9]?.series);
  });

  test("are series again after ten minutes without any, and no sooner", () => {
    const early = new EventCorrelator();
    tell(early, 10);
    expect(told(early, "next", 10 * minuteMs).isCombined).toBe(true);

    const late = new EventCorrelator();
    tell(late, 10);
    expect(told(late, "next", 10 * minuteMs + 1).isCombined).toBe(false);
  });

  test("count from the last of them", () => {
    const correlator = new EventCorrelator();
    tell(correlator, 9);
    told(correlator, "0", 9 * minuteMs);

    expect(told(correlator, "next", 18 * minuteMs).isCombined).toBe(true);
  });

  test.each<[string, Partial<Occurrence>]>([
    ["pod", { object: { ...pod, name: "other" } }],
    ["UID", { object: { ...pod, uid: "u2" } }],
    ["namespace", { object: { ...pod, namespace: "other" } }],
    ["kind", { object: { ...pod, kind: "Node" } }],
    ["API version", { object: { ...pod, apiVersion: "v2" } }],
    ["type", { type: "Normal" }],
    ["reason", { reason: "BackOff" }],
  ])("are not combined with those of another %s", (_, change) => {
    const correlator = new EventCorrelator();
    tell(correlator, 10);

    expect(told(correlator, "next", 0, change)).toMatchObject({ isCombined: false, message: "next" });
  });

  test("are combined whichever container they are about", () => {
    const correlator = new EventCorrelator();
    tell(correlator, 9);

    expect(told(correlator, "next", 0, { object: { ...pod, fieldPath: "spec.containers{main}" } }).isCombined).toBe(true);
  });
});

describe("the same event again", () => {
  test("is the same series for ten minutes from the first, and never combined", () => {
    const correlator = new EventCorrelator();
    const first = told(correlator, "again").series;
    for (let index = 0; index < 20; index++) expect(told(correlator, "again")).toMatchObject({ isCombined: false, message: "again" });

    expect(told(correlator, "again", 10 * minuteMs - 1).series).toBe(first);
    expect(told(correlator, "again", 10 * minuteMs).series).not.toBe(first);
  });
});

describe("an object's events", () => {
  test("are too many after twenty-five, whatever their reasons, and then one is let through in five minutes", () => {
    const correlator = new EventCorrelator();
    const reasons = Array.from({ length: 27 }, (_, index) => told(correlator, "x", 0, { reason: `Reason${index}` }));
    expect(reasons.map(({ isSpam }) => isSpam)).toEqual([...Array<boolean>(25).fill(false), true, true]);

    expect(told(correlator, "x", 5 * minuteMs - 1).isSpam).toBe(true);
    expect(told(correlator, "x", 5 * minuteMs).isSpam).toBe(false);
    expect(told(correlator, "x", 10 * minuteMs - 1).isSpam).toBe(true);
    expect(told(correlator, "x", 10 * minuteMs).isSpam).toBe(false);
  });

  test("may be twenty-five at once again after a long silence, and no more", () => {
    const correlator = new EventCorrelator();
    tell(correlator, 25);

    const later = tell(correlator, 26, 24 * 60 * minuteMs);

    expect(later.filter(({ isSpam }) => isSpam)).toHaveLength(1);
  });

  test.each<[string, Partial<Occurrence>]>([
    ["pod", { object: { ...pod, name: "other" } }],
    ["UID", { object: { ...pod, uid: "u2" } }],
    ["namespace", { object: { ...pod, namespace: "other" } }],
    ["kind", { object: { ...pod, kind: "Node" } }],
    ["API version", { object: { ...pod, apiVersion: "v2" } }],
    ["type", { type: "Normal" }],
  ])("do not count against those of another %s", (_, change) => {
    const correlator = new EventCorrelator();
    tell(correlator, 26);

    expect(told(correlator, "x", 0, change).isSpam).toBe(false);
  });
});

test("four thousand and ninety-six objects are remembered, and of more the one that was silent for longest is forgotten", () => {
  const correlator = new EventCorrelator();
  const of = (index: number): Partial<Occurrence> => ({ object: { ...pod, name: `web-${index}` } });
  tell(correlator, 25, 0, of(0));
  for (let index = 1; index < 4_096; index++) told(correlator, "x", 0, of(index));
  expect(told(correlator, "x", 0, of(0)).isSpam).toBe(true);

  for (let index = 4_096; index < 2 * 4_096; index++) told(correlator, "x", 0, of(index));

  expect(told(correlator, "x", 0, of(0)).isSpam).toBe(false);
});
