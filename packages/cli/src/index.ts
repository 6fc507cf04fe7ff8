/** The virtual-kubelet program, for other programs and tests to run. @packageDocumentation */
export { runProgram } from "./cli.ts";
export type { Context, Output } from "./context.ts";
export { exitCodes, type ExitCodeInfo } from "./exit-codes.ts";
