import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { podRef, type Pod, type Provider } from "@virtual-kubelet/core";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PretendHost } from "../support/container-host/pretend-host.ts";
import type { FakeKeys } from "./fake/api/credentials.ts";
import { firstKeys } from "./fake/fake-aws.ts";
import { RealTimeFargate, setEnvironmentKeys, textOf, withLogs } from "./support/real-time-fargate.ts";

// Credentials that change and clocks that differ, with the SDK's own chain of credentials, in real time.

const { signal } = new AbortController();
const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "nginx" }] };
const second: FakeKeys = { accessKeyId: "ASIAFAKE000000000002", secretAccessKey: "second-secret-key", sessionToken: "second-session" };
let fargate: RealTimeFargate;

const lines = Array.from({ length: 40 }, (_, index) => ({ afterMs: index * 100, text: `line ${index}\n` }));
const start = async (clock?: Clock): Promise<void> => {
  const host = new PretendHost({ clock: clock ?? systemClock, script: () => ({ lines, exit: { afterMs: 5_000, exitCode: 0 } }) });
  fargate = await RealTimeFargate.start(host, withLogs, clock);
};
afterEach(() => fargate[Symbol.asyncDispose]());

/** From now on only the second keys are accepted. */
function rotate(): void {
  fargate.aws.credentials.expire(firstKeys.accessKeyId);
  fargate.aws.credentials.accept(second);
}

/** Keys of the requests since then. */
const keysSince = (count: number): readonly string[] => fargate.aws.api.seen.slice(count).map(({ accessKeyId }) => accessKeyId);

describe.each<[string, () => Promise<(keys: FakeKeys) => Promise<void>>]>([
  [
    "in the environment of the process",
    async () => async (keys) => {
      setEnvironmentKeys(keys);
    },
  ],
  [
    "in the file of ~/.aws",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "fargate-credentials-"));
      folders.push(folder);
      env["AWS_SHARED_CREDENTIALS_FILE"] = join(folder, "credentials");
      const put = ({ accessKeyId, secretAccessKey, sessionToken }: FakeKeys): Promise<void> =>
        writeFile(
          join(folder, "credentials"),
          `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n${sessionToken ? `aws_session_token = ${sessionToken}\n` : ""}`,
        );
      await put(firstKeys);
      setEnvironmentKeys(undefined);
      return put;
    },
  ],
])("credentials that are replaced %s", (_where, prepare) => {
  let node: Provider;
  let put: (keys: FakeKeys) => Promise<void>;

  beforeEach(async () => {
    await start();
    put = await prepare();
    node = await fargate.open();
  });

  test("are used by the very request that AWS refuses, and by all that follow", async () => {
    const first = await fargate.create(node, spec);
    await put(second);
    rotate();
    const before = fargate.aws.api.seen.length;
    const next = await fargate.create(node, spec, { name: "next" });
    await node.deletePod(podRef(first), { gracePeriodSeconds: 1 }, signal);

    await expect.poll(() => fargate.statusOf(next)?.phase).toBe("Running");
    expect(fargate.aws.tasks.all).toHaveLength(2);
    expect(keysSince(before).filter((key) => key === firstKeys.accessKeyId).length).toBeLessThanOrEqual(3);
    expect(keysSince(before).at(-1)).toBe(second.accessKeyId);
  });

  test("in the midst of kubectl logs -f lose and repeat no line", async () => {
    const pod = await fargate.create(node, spec);
    await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Running");
    const followed = await node.getContainerLogs?.(podRef(pod), "main", { follow: true, previous: false, timestamps: false }, signal);
    if (!followed) throw new Error("the provider has no logs");
    rotate();
    const stored = new Promise<void>((resolve) => setTimeout(resolve, 1_500)).then(() => put(second));
    const all = (await textOf({ ...followed, data: joined(followed.data, followed.live) }))
      .split("\n")
      .map((line) => line.split(" ").slice(1).join(" "));
    await stored;

    expect(all).toEqual([...lines.map(({ text }) => text.trim()), ""]);
  });
});

const folders: string[] = [];
afterEach(async () => {
  delete env["AWS_SHARED_CREDENTIALS_FILE"];
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

test("credentials that are refused and not replaced are told, with few requests, and lose no pod", async () => {
  await start();
  const node = await fargate.open();
  const pod = await fargate.create(node, spec);
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Running");
  fargate.aws.credentials.expire(firstKeys.accessKeyId);
  const before = fargate.aws.api.seen.length;
  const error: unknown = await fargate.create(node, spec, { name: "next" }).catch((caught: unknown) => caught);
  expect(String(error)).toMatch(/UnauthorizedError: .*ExpiredTokenException: The security token included in the request is expired/);
  expect(String(error)).not.toContain(firstKeys.secretAccessKey);
  expect(keysSince(before).length).toBeLessThan(10);
  expect(fargate.isGone(pod)).toBe(false);
});

/** A clock that differs from this machine's. */
const shifted = (ms: number): Clock => ({
  now: () => systemClock.now() + ms,
  monotonic: () => systemClock.monotonic(),
  sleep: (delayMs, aborted) => systemClock.sleep(delayMs, aborted),
  setTimer: (delayMs, callback) => systemClock.setTimer(delayMs, callback),
});

test.each([
  ["ten minutes behind", 600_000],
  ["ten minutes ahead of", -600_000],
])("a node whose clock is %s AWS's creates, follows and deletes pods", async (_what, ms) => {
  const clock = shifted(ms);
  await start(clock);
  fargate.aws.credentials.clock = clock;
  const node = await fargate.open();
  await node.ping?.(signal);
  const pod: Pod = await fargate.create(node, spec);
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Running");
  await node.deletePod(podRef(pod), { gracePeriodSeconds: 1 }, signal);
  await expect.poll(() => fargate.isGone(pod)).toBe(true);

  expect(fargate.aws.tasks.all.map(({ lastStatus }) => lastStatus)).toEqual(["STOPPED"]);
});

async function* joined<T>(...parts: readonly (AsyncIterable<T> | undefined)[]): AsyncGenerator<T, void, undefined> {
  for (const part of parts) if (part) yield* part;
}
