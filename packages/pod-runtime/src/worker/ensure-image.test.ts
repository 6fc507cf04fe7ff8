import { VirtualClock } from "@virtual-kubelet/clock";
import { InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { ensureImage } from "./ensure-image.ts";

const never = new AbortController().signal;
const held = { id: "app@sha256:1", sizeBytes: 1234 };

interface Given {
  readonly policy?: string;
  readonly image?: string;
  readonly inspect?: Error;
  readonly pull?: Error;
}

/** Result, recorded events, and the number of pulls. */
async function ensured({ policy = "IfNotPresent", image = "app:1", inspect, pull }: Given): Promise<{ outcome: string; told: string[] }> {
  const clock = new VirtualClock();
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

test("an existing image is used, unless the policy is Always", async () => {
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

test("a missing image is pulled, unless the policy is Never", async () => {
  const inspect = new NotFoundError("no such image");

  expect((await ensured({ inspect })).outcome).toBe(held.id);
  expect((await ensured({ inspect, policy: "Never" })).outcome).toBe(
    'ErrImageNeverPull: Container image "app:1" is not present with pull policy of Never',
  );
});

test("failures have a kubelet's reasons", async () => {
  const inspect = new NotFoundError("no such image");

  expect((await ensured({ inspect, pull: new NotFoundError("manifest unknown") })).outcome).toBe("ErrImagePull: manifest unknown");
  expect((await ensured({ inspect, pull: new InvalidInputError("bad name") })).outcome).toBe("InvalidImageName: bad name");
  expect((await ensured({ inspect: new UnavailableError("away") })).outcome).toBe(
    'ImageInspectError: Failed to inspect image "app:1": away',
  );
  expect((await ensured({ image: "" })).outcome).toContain("InvalidImageName: ");
});

test("an empty image name is invalid", async () => {
  for (const policy of ["Always", "IfNotPresent", "Never"]) {
    expect(await ensured({ image: "", policy })).toEqual({
      outcome: `InvalidImageName: Failed to apply default image tag "": the container names no image`,
      told: [],
    });
  }
});

test("failures of an inspection and of a pull have different reasons, depending on their kind", async () => {
  const outcomeOf = async (given: Given): Promise<string> => (await ensured(given)).outcome;

  expect(await outcomeOf({ inspect: new InvalidInputError("bad") })).toBe('InvalidImageName: Failed to inspect image "app:1": bad');
  expect(await outcomeOf({ inspect: new UnavailableError("away"), policy: "Never" })).toBe(
    'ImageInspectError: Failed to inspect image "app:1": away',
  );
  expect(await outcomeOf({ policy: "Always", pull: new InvalidInputError("bad") })).toBe("InvalidImageName: bad");
  expect(await outcomeOf({ policy: "Always", pull: new UnavailableError("away") })).toBe("ErrImagePull: away");
});

test("with policy Never an existing image is used", async () => {
  expect((await ensured({ policy: "Never" })).outcome).toBe(held.id);
});

test("an abort ends an inspection and a pull with the signal's reason", async () => {
  for (const step of ["inspect", "pull"] as const) {
    const abort = new AbortController();
    const give = async (): Promise<never> => {
      abort.abort(new Error("over"));
      throw new UnavailableError("away");
    };
    const runtime = { inspectImage: step === "inspect" ? give : async () => held, pullImage: give };
    const options = { runtime, clock: new VirtualClock(), credentials: async () => [], tell: () => {} };

    await expect(ensureImage({ image: "app:1", pullPolicy: step === "pull" ? "Always" : "Never" }, options, abort.signal)).rejects.toThrow(
      "over",
    );
  }
});
