/**
 * Compares the outputs of kubectl on both servers and writes the list of differing commands. New ones are left to be explained;
 * `.reports/kubectl.md` has what differs.
 *
 * Use: `node --conditions=@virtual-kubelet/source e2e/control-plane/kubectl-comparison/record-differences.ts`, with the programs of the control
 * plane in KUBEBUILDER_ASSETS.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../tools/workspace.ts";
import { readDifferences, updateDifferences, writeDifferences } from "../requests/differences.ts";
import { comparedKubectls, compareKubectls, differenceText } from "./compare.ts";

const comparisons = await compareKubectls(await comparedKubectls());
const differing = comparisons.filter(({ isIdentical }) => !isIdentical);
writeDifferences(updateDifferences(readDifferences(import.meta.dirname), comparisons), import.meta.dirname);
mkdirSync(join(root, ".reports"), { recursive: true });
writeFileSync(join(root, ".reports/kubectl.md"), `${differing.map(differenceText).join("\n")}\n`);
console.log(`${String(comparisons.length)} commands, ${String(comparisons.length - differing.length)} with identical output`);
