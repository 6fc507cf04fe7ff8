import { expect, test } from "vitest";
import type { Flag } from "../packages/cli/src/command-line/flag.ts";
import { renderExitCodes, renderFlags, renderObsolete } from "./config-reference.ts";

const flags: readonly Flag[] = [
  {
    name: "nodename",
    type: "string",
    value: "NAME",
    commands: ["run", "config"],
    path: "nodes[].name",
    env: ["DEFAULT_NODE_NAME"],
    default: "virtual-kubelet",
    help: "name of the node",
  },
  { name: "once", short: "o", type: "boolean", commands: ["demo"], help: "end at once" },
  { name: "taint", type: "string", commands: ["run"], path: "nodes[].taint.key", help: "key of the taint", insteadUse: "--taint-key" },
  { name: "metrics-addr", type: "string", commands: ["run"], help: "does nothing", obsolete: "there is no such server" },
  { name: "help", short: "h", type: "boolean", commands: ["run"], help: "show this help" },
];

test("every live flag has a row with its place in the file, its variables and its default", () => {
  expect(renderFlags(flags).split("\n")).toEqual([
    "| Flag; place in the file; variables | What it sets |",
    "| --- | --- |",
    "| **`--nodename=NAME`**<br>`nodes[].name`<br>`VKUBELET_NODENAME`<br>`DEFAULT_NODE_NAME` | name of the node; default: virtual-kubelet |",
    "| **`-o, --once`** | end at once; only of `demo` |",
  ]);
});

test("renamed and obsolete flags and variables are grouped by what becomes of them", () => {
  expect(renderObsolete(flags, { ZPAGES_PORT: "there is no such server" }).split("\n").slice(2)).toEqual([
    "| `--taint` | the same as `--taint-key`, which is the one to use |",
    "| `--metrics-addr`, `ZPAGES_PORT` | does nothing: there is no such server |",
  ]);
});

test("exit codes come with their meaning, a bar in it escaped", () => {
  expect(renderExitCodes({ usage: { code: 64, meaning: "a|b" } })).toContain("| 64 | a\\|b |");
});
