import { expect, test } from "vitest";
import { noClientCa } from "../authentication/client-ca.ts";
import { createServingCertificate } from "./serving-certificate.ts";
import { Listeners } from "../listeners.ts";

test("it consists of the pair and the client CA, and reports changes of both until the last listener has left", async () => {
  const [pairs, authorities] = [new Listeners(), new Listeners()];
  let [certificate, ca]: [string, string | undefined] = ["a", undefined];
  const pair = { current: () => ({ certificate, key: "k" }), onChange: pairs.add.bind(pairs), run: async () => {} };
  const clientCa = { ...noClientCa, current: () => ca, onChange: authorities.add.bind(authorities) };
  const serving = createServingCertificate(pair, clientCa);
  const seen: unknown[] = [];
  const end = serving.onChange(() => seen.push(serving.current()));

  certificate = "b";
  pairs.notify();
  ca = "c";
  authorities.notify();
  end[Symbol.dispose]();
  pairs.notify();
  authorities.notify();

  expect(seen).toEqual([
    { certificate: "b", key: "k", clientCa: undefined },
    { certificate: "b", key: "k", clientCa: "c" },
  ]);
});

test("noClientCa has no CA, and its search is complete at once", async () => {
  let calls = 0;
  noClientCa.onChange(() => calls++)[Symbol.dispose]();
  await noClientCa.searched;

  expect([noClientCa.current(), calls]).toEqual([undefined, 0]);
  await expect(noClientCa.run(new AbortController().signal)).resolves.toBeUndefined();
});

test("a listener can be added twice, and each registration ends separately", () => {
  const listeners = new Listeners();
  let calls = 0;
  const listener = (): void => void calls++;
  const first = listeners.add(listener);
  listeners.add(listener);

  listeners.notify();
  expect(calls).toBe(2);
  first[Symbol.dispose]();
  listeners.notify();

  expect(calls).toBe(3);
});
