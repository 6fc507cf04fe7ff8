/**
 * Compares both servers and writes the list of differing requests. New ones are left to be explained; `.reports/requests.md` has all answers
 * that differ.
 *
 * Use: `node --conditions=@virtual-kubelet/source e2e/control-plane/requests/record-differences.ts`, with the programs of the control plane in
 * KUBEBUILDER_ASSETS.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../tools/workspace.ts";
import { differenceText } from "./compare.ts";
import { readDifferences, updateDifferences, writeDifferences } from "./differences.ts";
import { compareAll } from "./servers.ts";

const comparisons = await compareAll();
const differing = comparisons.filter(({ isIdentical }) => !isIdentical);
writeDifferences(updateDifferences(readDifferences(), comparisons));
mkdirSync(join(root, ".reports"), { recursive: true });
writeFileSync(join(root, ".reports/requests.md"), `${differing.map(differenceText).join("\n")}\n`);
console.log(`${String(comparisons.length)} requests, ${String(comparisons.length - differing.length)} answered identically`);
