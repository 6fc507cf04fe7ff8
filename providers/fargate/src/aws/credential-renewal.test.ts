import { VirtualClock } from "@virtual-kubelet/clock";
import { beforeEach, expect, test } from "vitest";
import { CredentialRenewal, type Identity } from "./credential-renewal.ts";
import { send } from "./send.ts";

const { signal } = new AbortController();
const call = { class: "read", operation: "ListTasks", isIdempotent: true, attempted: "list tasks" };
const expired = (name = "ExpiredTokenException"): Error =>
  Object.assign(new Error("expired"), { name, $metadata: { httpStatusCode: 400 } });

/** A chain that keeps its credentials until it is told to read them again. */
class Chain {
  stored: Identity = { accessKeyId: "first", secretAccessKey: "s" };
  failure: Error | undefined;
  reads = 0;
  #known: Identity | undefined;

  readonly config = {
    credentials: async ({ forceRefresh = false } = {}): Promise<Identity> => {
      if (forceRefresh || !this.#known) {
        this.reads++;
        if (this.failure) throw this.failure;
        this.#known = this.stored;
      }
      return this.#known;
    },
  };
}

let chain: Chain;
let clock: VirtualClock;
let renewal: CredentialRenewal;
const budget = {
  run: <T>(_call: unknown, aborted: AbortSignal, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> => attempt(aborted),
};

beforeEach(async () => {
  chain = new Chain();
  clock = new VirtualClock();
  renewal = new CredentialRenewal(chain, clock);
  await chain.config.credentials();
  chain.reads = 0;
});

/** Sends a request that these credentials are refused for. @returns keys with which it was sent */
async function sendRefusing(accessKeyId: string, error: Error = expired()): Promise<readonly string[]> {
  const sent: string[] = [];
  await send(
    { budget, renewal },
    call,
    async () => {
      const used = (await renewal.current())?.accessKeyId ?? "none";
      sent.push(used);
      if (used === accessKeyId) throw error;
    },
    signal,
  ).catch((failure: unknown) => sent.push(String(failure)));
  return sent;
}

test.each(["ExpiredTokenException", "ExpiredToken", "RequestExpired", "UnrecognizedClientException", "InvalidClientTokenId"])(
  "a request refused with %s is sent again with the credentials that have taken the place of the old ones",
  async (name) => {
    chain.stored = { accessKeyId: "second", secretAccessKey: "s" };

    expect(await sendRefusing("first", expired(name))).toEqual(["first", "second"]);
  },
);

test("a request is not sent again if there are no others, and the chain is not read for each refusal", async () => {
  for (let refusals = 0; refusals < 10; refusals++)
    expect(await sendRefusing("first")).toEqual(["first", "UnauthorizedError: list tasks: ExpiredTokenException: expired"]);
  expect(chain.reads).toBe(1);
  await clock.advance(10_000);
  chain.stored = { accessKeyId: "second", secretAccessKey: "s" };
  expect(await sendRefusing("first")).toEqual(["first", "second"]);
});

test("requests refused at the same time read the chain once", async () => {
  chain.stored = { accessKeyId: "second", secretAccessKey: "s" };

  expect(await Promise.all([sendRefusing("first"), sendRefusing("first")])).toEqual([
    ["first", "second"],
    ["first", "second"],
  ]);
  expect(chain.reads).toBe(1);
});

test("a session token that has changed is enough", async () => {
  chain.stored = { accessKeyId: "first", secretAccessKey: "s", sessionToken: "new" };

  expect(await renewal.cures(expired(), { accessKeyId: "first", secretAccessKey: "s" }, signal)).toBe(true);
});

test("a chain that fails leaves AWS's refusal as the error", async () => {
  chain.failure = new Error("no network");

  expect(await sendRefusing("first")).toEqual(["first", "UnauthorizedError: list tasks: ExpiredTokenException: expired"]);
});

test("a request whose clock the SDK has corrected is sent again, and any other refusal is final", async () => {
  const marked = (name: string): Error => Object.assign(expired(name), { $metadata: { httpStatusCode: 403, clockSkewCorrected: true } });

  expect(await sendRefusing("first", marked("InvalidSignatureException"))).toHaveLength(3);
  expect(await sendRefusing("first", marked("ServerException"))).toHaveLength(2);
  expect(await sendRefusing("first", expired("InvalidSignatureException"))).toHaveLength(2);
  expect(await sendRefusing("first", expired("AccessDeniedException"))).toHaveLength(2);
  expect(chain.reads).toBe(0);
});
