import { expect, test } from "vitest";
import { choiceOf, isOn, parseFlags, valueOf } from "./flag-parser.ts";

test("values come after a space or an equals sign, booleans alone or after an equals sign", () => {
  const line = parseFlags("run", [
    "--provider",
    "mock",
    "--nodename=a=b",
    "--disable-taint",
    "--standby=false",
    "rest",
    "--",
    "--provider",
  ]);

  expect(line.flags.map(({ flag, text }) => [flag.name, text])).toEqual([
    ["provider", "mock"],
    ["nodename", "a=b"],
    ["disable-taint", "true"],
    ["standby", "false"],
  ]);
  expect(line.args).toEqual(["rest", "--provider"]);
  expect(isOn(line, "standby")).toBe(false);
});

test("a boolean takes the next word if it is true or false, and no other", () => {
  const line = parseFlags("run", ["--disable-taint", "false", "--standby", "--dry-run", "yes"]);

  expect(line.flags.map(({ flag, text }) => [flag.name, text])).toEqual([
    ["disable-taint", "false"],
    ["standby", "true"],
    ["dry-run", "true"],
  ]);
  expect(line.args).toEqual(["yes"]);
});

test("the last of several values counts, and a short name is the long one", () => {
  const line = parseFlags("version", ["-o", "text", "--output", "json"]);

  expect(valueOf(line, "output")).toBe("json");
  expect(choiceOf(line, "output", "text")).toBe("json");
});

test.for([
  [["--nodenam", "x"], '--nodenam: unknown flag for "run"; did you mean --nodename?'],
  [["--zzz"], '--zzz: unknown flag for "run"; see virtual-kubelet help run'],
  [["-x"], '-x: unknown flag for "run"; see virtual-kubelet help run'],
  [["--provider"], "--provider: missing value, expected --provider NAME"],
] as const)("%j is refused in one line", ([words, message]) => {
  expect(() => parseFlags("run", words)).toThrow(expect.objectContaining({ message, exitCode: 64 }));
});

test("a value that is not among the few is refused with the nearest one", () => {
  const line = parseFlags("providers", ["-o", "jsn"]);

  expect(() => choiceOf(line, "output", "text")).toThrow('--output: "jsn": expected text or json; did you mean json?');
  expect(() => isOn(parseFlags("run", ["--dry-run=maybe"]), "dry-run")).toThrow('--dry-run: "maybe": expected true or false');
});

test.for([
  "--kubeconfig",
  "--nodename",
  "--os",
  "--provider",
  "--provider-config",
  "--cluster-domain",
  "--taint",
  "--pod-sync-workers",
  "--full-resync-period",
  "--startup-timeout",
  "--stream-idle-timeout",
  "--stream-creation-timeout",
  "--metrics-addr",
  "--namespace",
  "--trace-exporter",
  "--trace-service-name",
  "--trace-tag",
  "--trace-sample-rate",
  "--log-level",
  "--klog.v",
  "--klog.vmodule",
  "--klog.log_dir",
])("upstream's flag %s is taken with its value", (flag) => {
  expect(parseFlags("run", [flag, "x"])).toMatchObject({ flags: [{ text: "x" }], args: [] });
});

test.for(["--disable-taint", "--enable-node-lease", "--klog.logtostderr", "--klog.skip_headers"])(
  "upstream's flag %s is taken without one",
  (flag) => {
    expect(parseFlags("run", [flag])).toMatchObject({ flags: [{ text: "true" }], args: [] });
  },
);
