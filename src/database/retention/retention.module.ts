import { Global, Module } from '@nestjs/common';
import { Retention } from './retention';

/** Where every module says what it keeps, and for how long. */
@Global()
@Module({ providers: [Retention], exports: [Retention] })
export class RetentionModule {}
