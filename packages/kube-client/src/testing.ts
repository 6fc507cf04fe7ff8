/**
 * A transport without a server, for tests.
 *
 * @packageDocumentation
 */
export { OpenBody, ScriptedTransport, type ScriptedAnswer } from "./scripted-transport.ts";
