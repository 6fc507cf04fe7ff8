import type { CommandName, Flag } from "./flag.ts";

/** A simulation can be shared among programs. */
const simulated: readonly CommandName[] = ["run", "config", "manifests", "service", "doctor", "simulate"];
const settings: readonly CommandName[] = ["run", "config", "manifests", "service", "doctor"];

/** Flags of a program that is one of several instances. */
export const instanceFlags: readonly Flag[] = [
  {
    name: "identity",
    type: "string",
    value: "NAME",
    commands: simulated,
    path: "instance.identity",
    default: "the host's name",
    help: "name of this instance, which must stay the same after a restart; set it in a Deployment",
  },
  {
    name: "standby",
    type: "boolean",
    commands: settings,
    path: "instance.standby",
    default: "false",
    help: "wait while another instance runs the node, instead of exiting",
  },
  {
    name: "group",
    type: "string",
    value: "NAME",
    commands: simulated,
    path: "instance.group",
    default: "none, the program runs all nodes",
    help: "share the nodes with the other instances of this group, which have the same nodes and other identities: each runs a part, and takes over from one that ends",
  },
];
