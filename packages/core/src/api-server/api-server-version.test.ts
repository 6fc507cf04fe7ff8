import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ForbiddenError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { readApiServerVersion } from "./api-server-version.ts";

const { signal } = new AbortController();

async function read(answer: () => unknown): Promise<string | undefined> {
  const clock = new VirtualClock();
  const client = new FakeKubeClient(clock);
  using _version = client.onRaw(({ resource }) => (resource === "GET /version" ? answer() : undefined));
  const reading = readApiServerVersion(client, { clock, random: new SeededRandom(1), logger: silentLogger }, signal);
  await clock.advance(60_000);
  return await reading;
}

test.for([
  [{ gitVersion: "v1.34.2" }, "v1.34.2"],
  [{ gitVersion: "v1.35.0-eks-abc123" }, "v1.35.0"],
  [{ gitVersion: "v1.33.4+k3s1" }, "v1.33.4"],
  [{ gitVersion: "devel" }, undefined],
  [{}, undefined],
  ["text", undefined],
] as const)("of %j the release is %s", async ([answer, release]) => {
  expect(await read(() => answer)).toBe(release);
});

test("a server that is away is waited for", async () => {
  let asked = 0;
  const answer = (): unknown => {
    if (++asked < 3) throw new UnavailableError("connection refused");
    return { gitVersion: "v1.34.2" };
  };

  expect(await read(answer)).toBe("v1.34.2");
});

test.for([new ForbiddenError("no"), new NotFoundError("no")])("a server that says %s has no version that is known", async (error) => {
  expect(
    await read(() => {
      throw error;
    }),
  ).toBeUndefined();
});
