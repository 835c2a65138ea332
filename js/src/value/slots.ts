/**
 * Reads the internal slots of built-in objects. The objects' own properties have no influence.
 *
 * Invariant: each reader either returns the contents of the internal slot or throws {@link Unsendable}; none runs code
 * of the object's class.
 */

import { Unsendable } from './kinds.ts';

/** A built-in getter as a function of its object. */
function getterOf(prototype: object, key: string | symbol): (target: unknown) => unknown {
  const get = Object.getOwnPropertyDescriptor(prototype, key)!.get!;
  return (target) => get.call(target);
}

const readMapSize = getterOf(Map.prototype, 'size');
const readSetSize = getterOf(Set.prototype, 'size');
const readByteLength = getterOf(ArrayBuffer.prototype, 'byteLength');
const readSource = getterOf(RegExp.prototype, 'source');
const readFlags = getterOf(RegExp.prototype, 'flags');
const viewPrototype = Object.getPrototypeOf(Uint8Array.prototype) as object;
const readViewName = getterOf(viewPrototype, Symbol.toStringTag);

/** Getters for the position of one kind of view. */
function extentSlots(prototype: object) {
  return {
    buffer: getterOf(prototype, 'buffer') as (view: ArrayBufferView) => ArrayBufferLike,
    start: getterOf(prototype, 'byteOffset') as (view: ArrayBufferView) => number,
    size: getterOf(prototype, 'byteLength') as (view: ArrayBufferView) => number,
  };
}
const arraySlots = extentSlots(viewPrototype);
const dataViewSlots = extentSlots(DataView.prototype);

/** Reads a slot of an object with the prototype of the class `name`. */
function slot<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new Unsendable(`no real ${name} though it has the prototype of one`, 'a Proxy or an imitation of a built-in');
  }
}

/** The keys and values of a Map, alternating, as they are now. */
export function mapEntries(map: object): unknown[] {
  slot('Map', () => readMapSize(map));
  const entries: unknown[] = [];
  Map.prototype.forEach.call(map as Map<unknown, unknown>, (value, key) => entries.push(key, value));
  return entries;
}

/** The members of a Set, as they are now. */
export function setMembers(set: object): unknown[] {
  slot('Set', () => readSetSize(set));
  const members: unknown[] = [];
  Set.prototype.forEach.call(set as Set<unknown>, (member) => members.push(member));
  return members;
}

/** The size of an ArrayBuffer. */
export function bufferSize(buffer: object): number {
  return slot('ArrayBuffer', () => readByteLength(buffer)) as number;
}

/** The time value of a Date. */
export function dateTime(date: object): number {
  return slot('Date', () => Date.prototype.getTime.call(date));
}

/** The source and flags of a RegExp. */
export function patternParts(pattern: object): { source: string; flags: string } {
  return slot('RegExp', () => ({ source: readSource(pattern) as string, flags: readFlags(pattern) as string }));
}

/** The primitive in a Number, String, Boolean or BigInt object. */
export function boxedValue(box: object, name: string): unknown {
  return slot(name, () => {
    if (name === 'Number') return Number.prototype.valueOf.call(box);
    if (name === 'String') return String.prototype.valueOf.call(box);
    if (name === 'Boolean') return Boolean.prototype.valueOf.call(box);
    return BigInt.prototype.valueOf.call(box);
  });
}

/** The built-in class of a view: a Node Buffer is a 'Uint8Array'. */
export function viewName(view: ArrayBufferView): string {
  return (readViewName(view) as string | undefined) ?? 'DataView';
}

/** The position of a view in its buffer, in bytes. */
export function viewExtent(view: ArrayBufferView): { buffer: ArrayBufferLike; start: number; size: number } {
  const slots = readViewName(view) === undefined ? dataViewSlots : arraySlots;
  try {
    return { buffer: slots.buffer(view), start: slots.start(view), size: slots.size(view) };
  } catch {
    // The getters of a DataView throw if its buffer was detached or has shrunk.
    throw new Unsendable('a view outside its buffer', 'views without bytes');
  }
}
