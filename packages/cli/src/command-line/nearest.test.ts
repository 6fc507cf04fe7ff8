import { expect, test } from "vitest";
import { didYouMean, nearest } from "./nearest.ts";

const names = ["provider", "provider-config", "nodename", "os", "help"];

test.for([
  ["provder", "provider"],
  ["rpovider", "provider"],
  ["PROVIDER", "provider"],
  ["providerconfig", "provider-config"],
  ["node-name", "nodename"],
  ["so", "os"],
] as const)("%s is nearest to %s", ([written, name]) => {
  expect(nearest(written, names)).toBe(name);
});

test.for(["zzz", "kubeconfig", "", "o-very-long"])("nothing is near to %j", (written) => {
  expect(nearest(written, names)).toBeUndefined();
});

test("the hint is a question, or nothing", () => {
  expect(didYouMean("hlep", names, "--")).toBe("; did you mean --help?");
  expect(didYouMean("xxxxxxxx", names)).toBe("");
});
