import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { motoPython } from "./start-moto.ts";

test.each(["ecs", "logs"])("the facts of the fake are those of botocore's model: %s", (service) => {
  const { stdout, stderr, status } = spawnSync(motoPython(), [fileURLToPath(new URL("export_facts.py", import.meta.url)), service], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  const committed: unknown = JSON.parse(readFileSync(new URL(`../fake/api/${service}-facts.json`, import.meta.url), "utf8"));
  expect(committed).toEqual(JSON.parse(stdout));
});
