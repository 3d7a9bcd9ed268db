package main

import (
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

func TestArgumentsAreChecked(t *testing.T) {
	folder := t.TempDir()
	for _, arguments := range [][]string{
		{}, {"--blocks", folder}, {"--blocks", folder, "--chunks", folder, "more"}, {"--unknown"},
		{"--blocks", folder, "--chunks", folder, "--max-concurrency", "0"},
		{"--blocks", folder, "--chunks", folder, "--max-search-results", "0"},
		{"--blocks", folder, "--chunks", folder, "--reload=-1s"},
		{"--blocks", folder, "--chunks", folder, "--timeout", "0"},
	} {
		if exit := run(arguments); exit != 2 {
			t.Error(arguments, exit)
		}
	}
	if exit := run([]string{"--help"}); exit != 0 {
		t.Error(exit)
	}
	if exit := run([]string{"--blocks", folder + "/missing", "--chunks", folder}); exit != 1 {
		t.Error(exit)
	}
	if exit := run([]string{"--blocks", folder, "--chunks", folder, "--listen", "256.0.0.1:80"}); exit != 1 {
		t.Error(exit)
	}
}

func TestASignalEndsTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, folder := listener.Addr().String(), t.TempDir()
	listener.Close()
	exit := make(chan int)
	go func() {
		exit <- run([]string{"--blocks", folder, "--chunks", folder, "--listen", address, "--reload", "10ms"})
	}()
	deadline := time.Now().Add(30 * time.Second)
	for {
		answer, err := http.Get("http://" + address + "/-/ready")
		if err == nil {
			answer.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-exit; code != 0 {
		t.Fatal(code)
	}
}
