import type { Flag } from "./flag.ts";

/** Flags of `status` alone. */
export const statusFlags: readonly Flag[] = [
  { name: "namespace", short: "n", type: "string", value: "NAME", commands: ["status"], help: "show only pods of this namespace" },
  { name: "pod", type: "string", value: "NAME", commands: ["status"], help: "show only pods of this name" },
  { name: "problems", type: "boolean", commands: ["status"], help: "show only pods with a problem" },
  {
    name: "watch",
    short: "w",
    type: "boolean",
    commands: ["status"],
    default: "true on a terminal, false elsewhere",
    help: "show the state live until q is pressed",
  },
];
