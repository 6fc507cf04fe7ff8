import { checkNamed, type BrokenProvider } from "./broken-provider.ts";
import { accessFaults } from "./broken/access.ts";
import { podFaults } from "./broken/pods.ts";
import { probeFaults } from "./broken/probes.ts";
import { reportFaults } from "./broken/reports.ts";

/** Providers that the suite has to find; the README of the testing package lists them. */
export const brokenProviders: readonly BrokenProvider[] = [...podFaults, ...reportFaults, ...probeFaults, ...accessFaults].map(
  ([fault, check, says, options]) => ({ fault, check: checkNamed(check), says, options }),
);
