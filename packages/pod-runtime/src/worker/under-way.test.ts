import { expect, test } from "vitest";
import { UnderWay } from "./under-way.ts";

const reason = new Error("given up");

test("what is given up by its name ends with the reason, and nothing else does", () => {
  const underWay = new UnderWay(new AbortController().signal);
  const [one, other] = [underWay.begin("one"), underWay.begin("other")];

  underWay.giveUp("one", reason);

  expect([one.signal.reason, other.signal.aborted]).toEqual([reason, false]);
});

test("what is begun can be given up itself", () => {
  const begun = new UnderWay(new AbortController().signal).begin("one");

  begun.giveUp(reason);

  expect(begun.signal.reason).toBe(reason);
});

test("everything ends when all ends", () => {
  const all = new AbortController();
  const begun = new UnderWay(all.signal).begin("one");

  all.abort(reason);

  expect(begun.signal.reason).toBe(reason);
});

test("what is over is not given up any more", () => {
  const underWay = new UnderWay(new AbortController().signal);
  const begun = underWay.begin("one");
  begun[Symbol.dispose]();

  underWay.giveUp("one", reason);
  underWay.giveUpUnless(() => false, reason);

  expect(begun.signal.aborted).toBe(false);
});

test("of two of one name the later is meant, also after the first is over", () => {
  const underWay = new UnderWay(new AbortController().signal);
  const [first, second] = [underWay.begin("one"), underWay.begin("one")];
  first[Symbol.dispose]();

  underWay.giveUp("one", reason);

  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true]);
});

test("what is not wanted is given up, and the rest goes on", () => {
  const underWay = new UnderWay(new AbortController().signal);
  const [wanted, unwanted] = [underWay.begin("wanted"), underWay.begin("unwanted")];

  underWay.giveUpUnless((name) => name === "wanted", reason);

  expect([wanted.signal.aborted, unwanted.signal.reason]).toEqual([false, reason]);
});
