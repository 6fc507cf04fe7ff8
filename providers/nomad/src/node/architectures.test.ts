import { UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { beforeEach, expect, test } from "vitest";
import type { NomadNode } from "../api/types.ts";
import { Architectures } from "./architectures.ts";

const { signal } = new AbortController();
const client = (ID: string): NomadNode => ({
  ID,
  Name: ID,
  Datacenter: "dc1",
  Status: "ready",
  SchedulingEligibility: "eligible",
  Drain: false,
});

let asked: string[];
let byArchitecture: Record<string, readonly string[]>;
let isAway: boolean;
let architectures: Architectures;
beforeEach(() => {
  [asked, byArchitecture, isAway] = [[], { amd64: ["a", "b"], arm64: ["c"] }, false];
  architectures = new Architectures({
    logger: silentLogger,
    client: {
      async listNodesWith(attribute, value) {
        asked.push(`${attribute}=${value}`);
        if (isAway) throw new UnavailableError("away");
        return new Set(byArchitecture[value]);
      },
    },
  });
});

test("clients that are alike cost one list, and are asked about once", async () => {
  for (let time = 0; time < 2; time++) await architectures.read([client("a"), client("b")], signal);

  expect(asked).toEqual(["cpu.arch=amd64"]);
  expect(["a", "b"].map((ID) => architectures.of({ ID }))).toEqual(["amd64", "amd64"]);
});

test("one that is new is asked about, and one that is of no known architecture not again", async () => {
  await architectures.read([client("a"), client("c")], signal);
  await architectures.read([client("a"), client("c"), client("odd")], signal);
  const { length } = asked;
  await architectures.read([client("odd")], signal);

  expect(asked).toHaveLength(length);
  expect(["a", "c", "odd"].map((ID) => architectures.of({ ID }))).toEqual(["amd64", "arm64", undefined]);
});

test("without an answer it is asked again the next time", async () => {
  isAway = true;
  await architectures.read([client("a")], signal);
  isAway = false;
  await architectures.read([client("a")], signal);

  expect(architectures.of({ ID: "a" })).toBe("amd64");
});
