import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { about, isPodNotFound } from "./not-found.ts";

const thrownAbout = (kind: string, error: Error): Promise<unknown> =>
  about({ kind, namespace: "shop", name: "web" }, Promise.reject(error)).catch((thrown: unknown) => thrown);

test("a provider that does not find a pod says that the pod is gone", () => {
  expect(isPodNotFound(new NotFoundError("no such instance"))).toBe(true);
  expect(isPodNotFound(new UnavailableError("no answer"))).toBe(false);
});

test("an object of the API server that is not found says so of the pod if it is the pod", async () => {
  expect(isPodNotFound(await thrownAbout("Pod", new NotFoundError("pods web not found")))).toBe(true);
  expect(isPodNotFound(await thrownAbout("Secret", new NotFoundError("secrets web not found")))).toBe(false);
});

test("what was not found is known through whatever wraps it", async () => {
  const cause = await thrownAbout("ConfigMap", new NotFoundError("configmaps web not found"));

  expect(isPodNotFound(new NotFoundError("cannot create it", { cause }))).toBe(false);
});
