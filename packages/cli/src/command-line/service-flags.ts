import type { CommandName, Flag } from "./flag.ts";

const commands: readonly CommandName[] = ["service"];

/** Flags of `service` alone. */
export const serviceFlags: readonly Flag[] = [
  {
    name: "name",
    type: "string",
    value: "NAME",
    commands,
    default: "virtual-kubelet, and -NODE unless the node has the default name",
    help: "name of the unit, without .service",
  },
  {
    name: "user",
    type: "boolean",
    commands,
    default: "false",
    help: "a unit of your own systemd (systemctl --user) instead of the machine's",
  },
  {
    name: "run-as-user",
    type: "string",
    value: "USER",
    commands,
    default: "root",
    help: "user that the machine's systemd starts the program as; providers of remote back ends need no root",
  },
  { name: "no-start", type: "boolean", commands, default: "false", help: "enable the unit for the next boot, without starting it now" },
  { name: "force", type: "boolean", commands, default: "false", help: "replace a unit with other content, and restart it" },
];
