//go:build !linux

package main

func checkAddressSpace() {}
