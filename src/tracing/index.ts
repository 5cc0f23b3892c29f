export {
  beginRequestSpan,
  beginSpan,
  inSharedSpan,
  inSpan,
  annotateSpan,
  type OpenSpan,
  type Origin,
  origin,
} from './spans';
export { TracingModule } from './tracing.module';
