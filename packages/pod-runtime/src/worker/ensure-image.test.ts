import { InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { ensureImage } from "./ensure-image.ts";
import { goDuration } from "./go-duration.ts";

const never = new AbortController().signal;
const held = { id: "app@sha256:1", sizeBytes: 1234 };

interface Given {
  readonly policy?: string;
  readonly image?: string;
  readonly inspect?: Error;
  readonly pull?: Error;
}

/** What came of it, what people were told, and how often an image was pulled. */
async function ensured({ policy = "IfNotPresent", image = "app:1", inspect, pull }: Given): Promise<{ outcome: string; told: string[] }> {
  const clock = new FakeClock();
  const told: string[] = [];
  const runtime = {
    inspectImage: async () => (inspect ? Promise.reject(inspect) : held),
    pullImage: async () => {
      await clock.sleep(1_500);
      return pull ? Promise.reject(pull) : held;
    },
  };
  const work = ensureImage(
    { image, pullPolicy: policy },
    { runtime, clock, credentials: async () => [], tell: (reason, message) => void told.push(`${reason}: ${message}`) },
    never,
  ).then(
    ({ id }) => id,
    (error: Error & { readonly reason?: string }) => `${error.reason}: ${error.message}`,
  );
  await clock.advance(2_000);
  return { outcome: await work, told };
}

test("an image that is there is taken, unless it is always pulled", async () => {
  expect(await ensured({})).toEqual({
    outcome: held.id,
    told: ['Pulled: Container image "app:1" already present on machine and can be accessed by the pod'],
  });
  expect(await ensured({ policy: "Always" })).toEqual({
    outcome: held.id,
    told: [
      'Pulling: Pulling image "app:1"',
      'Pulled: Successfully pulled image "app:1" in 1.5s (1.5s including waiting). Image size: 1234 bytes.',
    ],
  });
});

test("one that is missing is pulled, unless it never is", async () => {
  const inspect = new NotFoundError("no such image");

  expect((await ensured({ inspect })).outcome).toBe(held.id);
  expect((await ensured({ inspect, policy: "Never" })).outcome).toBe(
    'ErrImageNeverPull: Container image "app:1" is not present with pull policy of Never',
  );
});

test("what goes wrong has a kubelet's reason", async () => {
  const inspect = new NotFoundError("no such image");

  expect((await ensured({ inspect, pull: new NotFoundError("manifest unknown") })).outcome).toBe("ErrImagePull: manifest unknown");
  expect((await ensured({ inspect, pull: new InvalidInputError("bad name") })).outcome).toBe("InvalidImageName: bad name");
  expect((await ensured({ inspect: new UnavailableError("away") })).outcome).toBe(
    'ImageInspectError: Failed to inspect image "app:1": away',
  );
  expect((await ensured({ image: "" })).outcome).toContain("InvalidImageName: ");
});

test.each([
  [0, "0s"],
  [250.4, "250ms"],
  [1_500, "1.5s"],
  [80_500, "1m20.5s"],
  [3_660_000, "1h1m0s"],
])("%d ms is %s in Go's words", (ms, text) => {
  expect(goDuration(ms)).toBe(text);
});
