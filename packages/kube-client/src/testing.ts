/**
 * A transport without a server, for tests.
 *
 * @packageDocumentation
 */
export { OpenBody, ScriptedTransport, type ScriptedAnswer } from "./transport/scripted-transport.ts";
