/**
 * The virtual-kubelet program, to be run from other programs and tests.
 *
 * @packageDocumentation
 */
export { runProgram } from "./cli.ts";
export type { Context, Output } from "./context.ts";
export { exitCodes, type ExitCodeInfo } from "./exit-codes.ts";
