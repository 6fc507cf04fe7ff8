/**
 * Fakes for tests: time and randomness that obey, and a transport without a server.
 *
 * @packageDocumentation
 */
export { FakeClock, SeededRandom } from "./fake-clock.ts";
export { OpenBody, ScriptedTransport, type ScriptedAnswer } from "./scripted-transport.ts";
