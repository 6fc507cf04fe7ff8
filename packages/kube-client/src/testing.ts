/**
 * Fakes for tests: time and randomness that obey.
 *
 * @packageDocumentation
 */
export { FakeClock, SeededRandom } from "./fake-clock.ts";
